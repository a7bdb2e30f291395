//! `cargo fdo profile convert`: the same samples in another form.

use super::ProfileError;
use super::input::{Content, Family, Input};
use super::llvm::Llvm;
use super::merge::say_left_out;
use crate::cli::profile::{ConvertArgs, Form};
use crate::error::Result;
use crate::fs;
use crate::profile::kind::Kind;
use crate::profile::sample::gcov::{self, GcovProfile, Version};
use crate::profile::sample::{SampleProfile, llvm_text};
use crate::report;
use crate::stage::convert::{self as conversion, Expected, Profiles};
use crate::stage::images::{self, Made};
use crate::stage::{reading, sample};
use crate::ui::{Ui, plural};
use clap::ValueEnum as _;
use std::path::Path;

pub(super) fn run(args: &ConvertArgs, toolchain: Option<&str>, ui: &Ui) -> Result<()> {
    let llvm = Llvm::new(&args.llvm, toolchain);
    let input = Input::open(&args.file)?;
    let content = match (input.family()?, &args.binary) {
        (Family::Recording, Some(binary)) => recorded(&input, binary, args.to, ui)?,
        (Family::Recording, None) => {
            return Err(ProfileError::NeedsBinary { path: input.path }.into());
        }
        (_, Some(_)) => {
            return Err(ProfileError::NeedsNoBinary {
                path: input.path,
                kind: input.kind,
            }
            .into());
        }
        (_, None) => input.read(&llvm)?,
    };
    let form = Converter {
        input: &input,
        llvm: &llvm,
        to: args.to,
        ui,
    };
    let written = form.write(content)?;
    super::put(&args.output, &written)?;
    ui.status(
        "Converted",
        format_args!(
            "`{}` into `{}` ({})",
            input.path.display(),
            args.output.display(),
            Kind::of(&written).map_or("empty".to_owned(), |kind| kind.to_string())
        ),
    );
    Ok(())
}

/// The samples of a recording, by the lines of a program.
pub(in crate::command) fn profiles(input: &Input, binary: &Path, ui: &Ui) -> Result<Profiles> {
    let Some(made) = sample::look(binary) else {
        return Err(ProfileError::NotLinked {
            path: binary.to_owned(),
        }
        .into());
    };
    let recording = reading::recording(&input.path)?;
    reading::check_samples(&recording, &input.path)?;
    let shown = recording.without_images();
    let made = Made {
        named: true,
        ..made
    };
    let picks = images::pick(recording, &[made], 0.0)?;
    report::recording(ui, &shown, &picks.rows);
    let mut profiles = Profiles::default();
    for picked in &picks.picked {
        let (found, outcome) = conversion::run(picked, EXPECTED)?;
        report::converted(ui, &outcome);
        profiles.add(&found, 1);
    }
    Ok(profiles)
}

/// Those for the compilers that read `to`.
fn recorded(input: &Input, binary: &Path, to: Form, ui: &Ui) -> Result<Content> {
    let profiles = profiles(input, binary, ui)?;
    let (profile, compilers, others) = match to {
        Form::LlvmText | Form::LlvmExtbinary => (profiles.llvm, "rustc or clang", profiles.gcc),
        Form::GcovV1 | Form::GcovV2 | Form::GcovV3 => (profiles.gcc, "gcc", profiles.llvm),
    };
    if !profile.functions.is_empty() && !others.functions.is_empty() {
        ui.note(format_args!(
            "in this form {} for {compilers}; {} of another compiler's code are left out",
            plural(profile.functions.len(), "function"),
            others.functions.len()
        ));
    }
    if profile.functions.is_empty() {
        return Err(ProfileError::NoCodeFor {
            path: binary.to_owned(),
            compilers,
        }
        .into());
    }
    Ok(match to {
        Form::LlvmText | Form::LlvmExtbinary => Content::LlvmSample(profile),
        Form::GcovV1 | Form::GcovV2 | Form::GcovV3 => {
            Content::GccSample(GcovProfile::new(Version::V2, profile))
        }
    })
}

/// What is asked for is what there is: whether it is enough, its reader decides.
const EXPECTED: Expected = Expected {
    min_mapped: 0.0,
    rust: true,
};

struct Converter<'a> {
    input: &'a Input,
    llvm: &'a Llvm<'a>,
    to: Form,
    ui: &'a Ui,
}

impl Converter<'_> {
    fn write(&self, content: Content) -> Result<Vec<u8>> {
        match (self.to, content) {
            (Form::LlvmText, Content::Instr(profile)) => Ok(profile.to_text().into_bytes()),
            (_, Content::Instr(_)) => self.refuse("it was counted, not sampled"),
            (Form::LlvmText, Content::LlvmSample(profile)) => Ok(self.text(&profile)),
            (Form::LlvmExtbinary, Content::LlvmSample(profile)) => self.extbinary(&profile),
            (Form::LlvmText, Content::GccSample(file)) => {
                self.warn_of_places();
                Ok(self.text(&file.profile))
            }
            (Form::LlvmExtbinary, Content::GccSample(file)) => {
                self.warn_of_places();
                self.extbinary(&file.profile)
            }
            (Form::GcovV1, content) => self.gcov(Version::V1, content),
            (Form::GcovV2, content) => self.gcov(Version::V2, content),
            (Form::GcovV3, content) => self.gcov(Version::V3, content),
        }
    }

    fn refuse<T>(&self, why: &'static str) -> Result<T> {
        let form = self.to.to_possible_value();
        Err(ProfileError::NotConvertible {
            path: self.input.path.clone(),
            kind: self.input.kind,
            form: form.map_or_else(String::new, |form| form.get_name().to_owned()),
            why,
        }
        .into())
    }

    fn text(&self, profile: &SampleProfile) -> Vec<u8> {
        let written = llvm_text::write(profile);
        say_left_out(&written.left_out, self.ui);
        written.text.into_bytes()
    }

    fn extbinary(&self, profile: &SampleProfile) -> Result<Vec<u8>> {
        let text = self.llvm.scratch()?.join("samples.txt");
        fs::write_quick(&text, &self.text(profile))?;
        self.llvm.make(&[&text], |call, output| {
            let call = call.args(["merge", "--sample", "--extbinary"]).arg(&text);
            call.arg("--output").arg(output)
        })
    }

    fn gcov(&self, version: Version, content: Content) -> Result<Vec<u8>> {
        let file = match content {
            Content::Instr(_) => return self.refuse("it was counted, not sampled"),
            Content::GccSample(file) => GcovProfile { version, ..file },
            Content::LlvmSample(profile) => {
                if profile.functions.values().any(|f| f.checksum.is_some()) {
                    return self.refuse("its positions are pseudo probes, not lines");
                }
                if profile
                    .functions
                    .keys()
                    .any(|name| llvm_text::is_context(name))
                {
                    return self.refuse("GCC knows no contexts");
                }
                self.warn_of_places();
                GcovProfile::new(version, profile)
            }
        };
        if version == Version::V3 {
            self.ui
                .warn("version 3 is experimental: its layout changed after it was introduced");
        }
        let written = gcov::write(&file);
        say_left_out(&written.left_out, self.ui);
        if written.positions_left_out > 0 {
            self.ui.warn(format_args!(
                "{} left out: GCC's discriminators have 16 bits",
                plural(written.positions_left_out, "position")
            ));
        }
        Ok(written.bytes)
    }

    fn warn_of_places(&self) {
        self.ui.warn(
            "LLVM and GCC number the blocks of a line each in its own way: counts of lines with \
             several blocks may end up at the wrong one",
        );
    }
}
